// Neumaier's compensated sum: its error does not grow with the number of terms.
#pragma once

#include <cmath>

namespace pegasos {

class CompensatedSum {
 public:
  void add(double term) {
    const double total = value_ + term;
    lost_ += std::abs(value_) >= std::abs(term) ? (value_ - total) + term : (term - total) + value_;
    value_ = total;
  }
  double total() const { return value_ + lost_; }

 private:
  double value_ = 0.0;
  double lost_ = 0.0;
};

}  // namespace pegasos
