// Prints which Facula it was linked with, and a product to show that it works.
#include <facula/facula.h>

#include <iostream>

int main() {
  facula::Tensor a = facula::arange(6).reshape({2, 3});
  std::cout << "Facula " << facula::version() << "\n" << facula::show_config() << a.mm(a.t()) << "\n";
}
