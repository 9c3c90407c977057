# docker build -t ident . && docker run --rm -v "$PWD":/data ident run experiment
# hadolint 2.15.1 finds nothing in it.
FROM python:3.12-slim
COPY . /source
RUN pip install --no-cache-dir -c /source/constraints.txt "/source[all]" && rm -rf /source && useradd --create-home --uid 1000 ident
USER 1000
WORKDIR /data
ENTRYPOINT ["ident"]
CMD ["--help"]
