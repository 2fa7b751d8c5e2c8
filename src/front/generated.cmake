# What tools/schemas.cpp writes from the operators' schemas.
set(front_headers methods.h functions.h)
set(front_units functions_1.cpp functions_2.cpp)
