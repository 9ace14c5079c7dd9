"""`python -m shop.cli`"""
from shop.banner import TEXT

if __name__ == "__main__":
    print(TEXT)
