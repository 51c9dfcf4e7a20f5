struct s
