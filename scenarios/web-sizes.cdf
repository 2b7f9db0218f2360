# Bytes, and the share of files up to that size; with linear interpolation. Synthetic: a few large files have
# most of the bytes.
200      0.10
1000     0.30
5000     0.70
20000    0.90
100000   0.98
1000000  1.00
