// An array that grows in place: large blocks are moved by the system, not copied.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace pegasos {

template <class T>
class Grown {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Grown() = default;
  Grown(Grown&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        room_(std::exchange(other.room_, 0)) {}
  Grown& operator=(Grown&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
    return *this;
  }
  ~Grown() { std::free(data_); }

  // Room for `count` more, not yet initialised; returns where they begin.
  T* extend(int64_t count) {
    if (size_ + count > room_) resize(size_ + count + size_ / 2);
    size_ += count;
    return data_ + size_ - count;
  }
  // Gives the array away, no larger than it is; free it with std::free.
  T* release() {
    if (size_ < room_) resize(size_);
    size_ = room_ = 0;
    return std::exchange(data_, nullptr);
  }
  int64_t size() const { return size_; }
  T* data() { return data_; }

 private:
  void resize(int64_t room) {
    const auto bytes = sizeof(T) * static_cast<std::size_t>(room > 0 ? room : 1);
    void* moved = std::realloc(data_, bytes);
    if (moved == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    room_ = room;
  }

  T* data_ = nullptr;
  int64_t size_ = 0, room_ = 0;
};

}  // namespace pegasos
