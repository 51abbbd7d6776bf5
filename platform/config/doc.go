// Package config fills a command's flags from every source there is: the command line beats the environment, the
// environment beats a YAML file, the file beats the defaults. One parser per flag serves all of them, so a value means
// the same wherever it was written.
package config
