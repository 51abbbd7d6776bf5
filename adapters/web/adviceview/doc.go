// Package adviceview asks a language model for the viewer of a page, and shows what it says. The pages of runs, of
// launches and of questions share it. Advice is text, whatever it looks like, and it does nothing.
package adviceview
