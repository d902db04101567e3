//! Storages that pass calls on to another storage.

/// Implements methods of [`Storage`](super::Storage) by the same methods of the storage after `=>`.
macro_rules! forward {
    ($self:ident => $to:expr; $($method:ident($($name:ident: $type:ty),*) -> $result:ty;)+) => {
        $(fn $method(&$self, $($name: $type),*) -> $result {
            $to.$method($($name),*)
        })+
    };
}

pub(crate) use forward;
