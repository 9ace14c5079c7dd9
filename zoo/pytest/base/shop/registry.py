"""Ways to pay. Importing `shop.vouchers` adds one."""
WAYS = ["card"]
