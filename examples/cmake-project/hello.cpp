// Prints which Facula it was linked with.
#include <core/config.h>

#include <iostream>

int main() { std::cout << "Facula " << facula::version() << "\n" << facula::show_config(); }
