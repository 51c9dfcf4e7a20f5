/* What examples/shop.py tells. */
provider shop {
    probe order__placed(int64_t number, char *item, double price);
    probe closed();
};
