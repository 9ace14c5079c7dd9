def discount(price, rate):
    return price - price * rate // 100
