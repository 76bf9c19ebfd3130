"""Words and language: analysis of English, Finnish and Hebrew text into terms, and language
detection."""
