// Decimal text to floating point, correctly rounded.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace pegasos {

enum class Decimal { read, malformed, not_finite, too_large };

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

namespace decimal {

// Powers of ten that float64 holds exactly.
inline constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// [begin, end) has the form of a number. Too small for T is 0, as everywhere.
template <class T>
Decimal slowly(const char* begin, const char* end, T& value) {
  const bool plus = *begin == '+';
  const auto found = std::from_chars(begin + plus, end, value);
  if (found.ec != std::errc::result_out_of_range) return Decimal::read;
  // The standard does not say which way it was out of range.
  double wide = 0.0;
  if constexpr (!std::is_same_v<T, double>) {
    if (slowly(begin, end, wide) == Decimal::read && std::abs(wide) < 1.0) {
      value = std::copysign(T(0), static_cast<T>(*begin == '-' ? -1 : 1));
      return Decimal::read;
    }
    return Decimal::too_large;
  } else {
    // Zeros do not count: where is the first other digit, seen from the point?
    int64_t before = 0, exponent = 0;
    bool point = false, counting = false;
    const char* at = begin;
    for (; at != end && (*at | 0x20) != 'e'; ++at) {
      if (*at == '.') point = true;
      if (!is_digit(*at)) continue;
      counting |= *at != '0';
      if (counting && !point) ++before;
      if (!counting && point) --before;
    }
    if (at != end) {
      const bool negative = at[1] == '-';
      for (at += 1 + (at[1] == '-' || at[1] == '+'); at != end; ++at) {
        if (exponent < 1'000'000'000) exponent = 10 * exponent + (*at - '0');
      }
      if (negative) exponent = -exponent;
    }
    if (before + exponent > 0) return Decimal::too_large;
    value = *begin == '-' ? -0.0 : 0.0;
    return Decimal::read;
  }
}

// `wide` rounded to float once, not twice: unless it lies so near to the middle of two floats that
// its own rounding may have decided.
template <class T>
Decimal narrow(double wide, const char* begin, const char* end, T& value) {
  if constexpr (std::is_same_v<T, double>) {
    value = wide;
    return Decimal::read;
  } else {
    const uint64_t rest = std::bit_cast<uint64_t>(wide) & 0x1FFFFFFF;
    const double size = std::abs(wide);
    const bool plain = size == 0.0 || (size >= 0x1p-126 && size < 0x1.fffffep127);
    if (!plain || (rest >= 0x0FFFFFFF && rest <= 0x10000001)) return slowly(begin, end, value);
    value = static_cast<T>(wide);
    return Decimal::read;
  }
}

// Letters may be capitals; no other byte stands for another.
inline bool begins_like(const char* at, const char* lower) {
  for (; *lower != '\0'; ++at, ++lower) {
    const bool capital = *at >= 'A' && *at <= 'Z';
    if ((capital ? *at | 0x20 : *at) != *lower) return false;
  }
  return true;
}

}  // namespace decimal

// Reads [+-] digits [. digits] [e [+-] digits] at `at`, which ends up behind it, or where it breaks
// off. The text must end with a character that belongs to no number.
template <class T>
inline Decimal read_decimal(const char*& at, T& value) {
  const char* const begin = at;
  const char* p = at;
  const bool negative = *p == '-';
  p += negative || *p == '+';
  const char* const digits = p;
  uint64_t mantissa = 0;
  while (is_digit(*p)) mantissa = 10 * mantissa + static_cast<uint64_t>(*p++ - '0');
  int64_t count = p - digits;
  int64_t exponent = 0;
  if (*p == '.') {
    const char* const fraction = ++p;
    while (is_digit(*p)) mantissa = 10 * mantissa + static_cast<uint64_t>(*p++ - '0');
    exponent = fraction - p;
    count -= exponent;
  }
  if (count == 0) {
    const bool word = decimal::begins_like(digits, "nan") || decimal::begins_like(digits, "inf");
    at = word ? begin : p;
    return word ? Decimal::not_finite : Decimal::malformed;
  }
  if ((*p | 0x20) == 'e') {
    ++p;
    const bool down = *p == '-';
    p += down || *p == '+';
    if (!is_digit(*p)) {
      at = p;
      return Decimal::malformed;
    }
    int64_t power = 0;
    for (; is_digit(*p); ++p) {
      if (power < 100'000'000) power = 10 * power + (*p - '0');
    }
    exponent += down ? -power : power;
  }
  at = p;
  // Exact in float64, so that one operation rounds once. 19 digits fit 64 bits.
  if (count <= 19 && mantissa <= (uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) {
    double wide = static_cast<double>(mantissa);
    wide = exponent < 0 ? wide / decimal::kPowers[-exponent] : wide * decimal::kPowers[exponent];
    return decimal::narrow(negative ? -wide : wide, begin, p, value);
  }
  return decimal::slowly(begin, p, value);
}

}  // namespace pegasos
