"""The run folder: its layout, writer and reader."""
