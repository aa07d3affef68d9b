// Package task keeps the books of background tasks: what state a task is in,
// what the orchestrator is told of it, and what it says to the model.
//
// It is pure: no clock, no file, no process. The record of events is
// task/store, the one process that acts on it is task/run, and how a task is
// really worked on is a [Backend].
package task
