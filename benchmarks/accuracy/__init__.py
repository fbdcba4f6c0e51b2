"""How right: errors against closed-form answers, ours and the peers'."""
