"""Small studies: each answers one question of the documentation."""
