# run: {python} -m package.run --fast
