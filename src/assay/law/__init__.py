"""How lawyers cite: sections, moments and chapters, citations in three languages, locators."""
