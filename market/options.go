package market

// Options is the section of the configuration about packages. The zero value is
// the default.
type Options struct {
	Packages map[string]bool `json:"packages,omitempty" doc:"packages that are on or off, by publisher/name" eg:"acme/reviewer"`
	// Only a person lowers or raises this: a repository must not.
	RequireSignature string `json:"requireSignature,omitempty" doc:"which packages must carry a valid signature: off (the default), known-publisher (those of publishers whose key you have), always" enum:"off,known-publisher,always" layer:"user"`
}
