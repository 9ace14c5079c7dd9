def discount(price):
    return price - 10
