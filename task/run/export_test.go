package run

// Jumped is exported for its test: a clock can't be set here.
var Jumped = jumped
