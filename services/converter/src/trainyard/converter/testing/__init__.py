"""What tests of conversions share with the page that is made of what they found."""
