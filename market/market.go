// Package market is the local marketplace: packages of agents, skills,
// commands, instructions, MCP servers, hooks and formatters, taken from a
// directory or an archive on this machine. It reaches no network. What a
// package would run stays off until a person has agreed to it.
package market
