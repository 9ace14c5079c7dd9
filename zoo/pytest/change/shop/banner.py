"""What `shop.cli` prints."""
TEXT = "go away"
