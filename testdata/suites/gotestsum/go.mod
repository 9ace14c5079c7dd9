module example.com/acme/orders

go 1.22
