"""Questions about a source file that several causes ask before anything has run."""
