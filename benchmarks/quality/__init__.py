"""What the product trains for real: Multi30k en→de, by a recurrent model and a Transformer."""
