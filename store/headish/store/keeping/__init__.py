"""What a space keeps beside its turns (bookmarks, conversations, objects), and what backs up, exports or erases all."""
