# What tools/schemas.cpp writes from the operators' schemas.
set(front_headers methods.h functions.h)
set(front_units functions.cpp)
