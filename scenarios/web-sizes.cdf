# Bytes, and the share of files up to that size; straight between the points. Made up: a few large files carry most bytes.
200      0.10
1000     0.30
5000     0.70
20000    0.90
100000   0.98
1000000  1.00
