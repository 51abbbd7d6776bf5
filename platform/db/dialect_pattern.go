package db

import "strings"

// Fits returns the condition that the text in a column fits a pattern, a text with * for any text, and its argument.
// Letters differ by their case.
func (d Dialect) Fits(column, pattern string) (condition string, arg any) {
	if d.engine == Postgres {
		escaped := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`, "*", "%").Replace(pattern)
		return column + ` LIKE ? ESCAPE '\'`, escaped
	}
	return column + " GLOB ?", strings.NewReplacer("?", "[?]", "[", "[[]").Replace(pattern)
}
