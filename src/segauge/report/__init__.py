"""What is said about a result, and how it looks: figures, the HTML report, LaTeX and Markdown."""
