"""
The live page: recent occurrences with their scores, and for each of them the reasons, for people with a browser.

It watches closings and holds what it shows in a bounded ring. It never holds arguments, results or message text, and it
changes nothing of what the service does.
"""
