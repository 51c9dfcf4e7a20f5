exit 0

yes
yes and not no
one

