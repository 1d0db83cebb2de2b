package manager

import "errors"

// ErrName says that a topic's or directory's name is not one that Kafka allows. Kafka's code is 17.
var ErrName = errors.New("manager: invalid name")
