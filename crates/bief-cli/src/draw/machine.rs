//! A machine as a picture.
