"""Report: an assessment as one page that needs no network."""
