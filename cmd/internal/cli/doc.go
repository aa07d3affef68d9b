// Package cli is what the programs whet and whet-hook share: the answer to a
// hook event, the log and the version.
//
// Invariant: it imports no package that reaches the network. A hook is a new
// process for each event, and every package that a program links sets itself up
// at each start; this is why whet-hook exists.
package cli
