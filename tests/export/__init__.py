"""Tests of the exports, each with the reader that the format is for."""
