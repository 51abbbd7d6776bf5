// Package imports tests imports of the exports of other products against the real binary.
package imports
