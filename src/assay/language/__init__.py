"""Words: how texts in English, Finnish and Hebrew become terms, and which language a text is in."""
