package format

// Options of the formatters. The zero value is the default.
type Options struct {
	Enabled *bool `json:"enabled,omitempty" doc:"whether edited files are formatted at all; default true"`
}
