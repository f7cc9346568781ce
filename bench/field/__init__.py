"""The field suite: programs as strangers write them, recorded, judged and scored against an expert."""
