#include "arrays.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The C++ core of pegasos: rows, solvers' inner loops, the certificate's sums.";
  binding::bind_rows(m);
  binding::bind_solvers(m);
  binding::bind_certificate(m);
  binding::bind_interior(m);
  binding::bind_newton(m);
  binding::bind_dual(m);
  binding::bind_crammer_singer(m);
  binding::bind_svmlight(m);
  binding::bind_mercer(m);
  binding::bind_smo(m);
  binding::bind_cholesky(m);
}
