# Says hello to whoever extra_vars names, and hands a value to the next step of a pipeline.
name=${WRIT_VAR_NAME:-world}
echo "hello, $name"
printf '{"greeted": "%s"}\n' "$name" >"$WRIT_OUTPUTS"
