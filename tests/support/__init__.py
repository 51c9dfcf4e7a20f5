"""What tests and their scripts share, none of it a test: how programs are run, made-up data, servers, expectations."""
