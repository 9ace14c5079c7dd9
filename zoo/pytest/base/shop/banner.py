"""What `shop.cli` prints."""
TEXT = "welcome"
